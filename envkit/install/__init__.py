"""From a plan to the ordered, typed steps of an installation. Pure; `envkit.render.script` writes them out."""
