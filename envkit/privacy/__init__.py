"""Takes out of facts and texts what is secret, always, and what identifies, for what is given to others.

`secrets` knows no exception: what it finds is in no output. `masker` gives pseudonyms by the kind that each fact
declares (`envkit.model.privacy`), the same one for the same thing wherever it stands.
"""
