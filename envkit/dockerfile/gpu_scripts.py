"""Which scripts of `python -c` certainly need a GPU: the statements before the first branch are read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from envkit._startup.regex import regex

_LONGEST = 10_000  # characters of a script that are parsed
_WORTH_A_LOOK = regex(r"(?i)cuda|gpu")
_ASKS = regex(r"(?:[\w.]+\.)?cuda\.is_available\(\)|jax\.default_backend\(\) == '(?:gpu|cuda)'")
_COUNTS = regex(
    r"(?:[\w.]+\.)?cuda\.device_count\(\)(?: > 0| >= 1)?|(?:len\()?(?:tf|tensorflow)\.config\."
    r"(?:experimental\.)?list_physical_devices\('GPU'\)\)?(?: > 0| >= 1)?"
)
_MODULES = frozenset({"torch", "jax"})
_TENSORS = frozenset(
    f"torch.{name}"
    for name in ("arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "tensor", "zeros")
)
_OF_CUDA = frozenset(
    f"torch.cuda.{name}"
    for name in ("current_device", "get_device_capability", "get_device_name", "get_device_properties", "init")
) | {"torch.cuda.synchronize"}
_OF_JAX = frozenset(f"jax.{name}" for name in ("devices", "local_devices", "device_count", "local_device_count"))
_DEVICE = regex(r"cuda(?::\d{1,3})?")
_BACKEND = regex(r"gpu|cuda")
_PLAIN = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr, ast.Assert)
_ENDS = frozenset({"exit", "_exit", "quit", "exec", "eval", "patch", "*"})


def needs_gpu(code: str) -> bool:
    """True for a script that certainly fails without a GPU."""
    if len(code) > _LONGEST or _WORTH_A_LOOK.search(code) is None:
        return False
    try:
        script = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    asserted = any(isinstance(line, ast.Assert) and _only_with_gpu(line.test) for line in script.body)
    return asserted or _Script().needs_gpu(script)


def _only_with_gpu(test: ast.expr) -> bool:
    """True for a condition that holds with a GPU alone."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_only_with_gpu(value) for value in test.values)
    written = ast.unparse(test)
    return _ASKS.fullmatch(written) is not None or _COUNTS.fullmatch(written) is not None


class _Script:
    """What the names of a script stand for, from statement to statement."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}
        self._tensors: set[str] = set()

    def needs_gpu(self, script: ast.Module) -> bool:
        """True where a statement that certainly runs makes a call that needs a GPU."""
        for line in script.body:
            if not isinstance(line, _PLAIN) or any(_may_end(part) for part in ast.walk(line)):
                return False
            if isinstance(line, (ast.Import, ast.ImportFrom)):
                self._imported(line)
            elif isinstance(line, (ast.Assign, ast.Expr, ast.Assert)):
                value = line.test if isinstance(line, ast.Assert) else line.value
                if any(self._asks(call) for call in _calls(value)):
                    return True
            if isinstance(line, ast.Assign):
                self._assigned(line)
        return False

    def _imported(self, line: ast.Import | ast.ImportFrom) -> None:
        for one in line.names:
            whole = one.name.partition(".")[0]
            name = one.asname or whole
            self._forget({name})
            if isinstance(line, ast.Import) and whole in _MODULES and (one.asname is None or one.name == whole):
                self._modules[name] = whole

    def _forget(self, names: set[str]) -> None:
        self._tensors -= names
        for name in names:
            self._modules.pop(name, None)

    def _assigned(self, line: ast.Assign) -> None:
        tensor = self._is_tensor(line.value)
        self._forget({part.id for target in line.targets for part in ast.walk(target) if isinstance(part, ast.Name)})
        if tensor and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name):
            self._tensors.add(line.targets[0].id)

    def _named(self, value: ast.expr) -> str:
        """What a name stands for, with its module: torch.cuda.init; '' for anything else."""
        if isinstance(value, ast.Name):
            return self._modules.get(value.id, "")
        if isinstance(value, ast.Attribute):
            of = self._named(value.value)
            return f"{of}.{value.attr}" if of else ""
        return ""

    def _is_tensor(self, value: ast.expr) -> bool:
        """True for a tensor of torch, and for what one of its methods makes of it."""
        if isinstance(value, ast.Name):
            return value.id in self._tensors
        if not isinstance(value, ast.Call):
            return False
        of = value.func.value if isinstance(value.func, ast.Attribute) else None
        return self._named(value.func) in _TENSORS or (of is not None and self._is_tensor(of))

    def _asks(self, call: ast.Call) -> bool:
        """True for a call that fails without a GPU."""
        name = self._named(call.func)
        options = {one.arg: one.value for one in call.keywords}
        if name in _OF_CUDA:
            return True
        if name in _OF_JAX:
            backends = [*call.args[:1], *filter(None, (options.get("backend"),))]
            return any(isinstance(one, ast.Constant) and _matches(_BACKEND, one.value) for one in backends)
        if name in _TENSORS:
            return "device" in options and self._is_device(options["device"])
        if not isinstance(call.func, ast.Attribute) or not self._is_tensor(call.func.value):
            return False
        places = [*call.args[:1], *filter(None, (options.get("device"),))]
        to_gpu = call.func.attr == "to" and any(self._is_device(one) for one in places)
        return call.func.attr == "cuda" or to_gpu

    def _is_device(self, value: ast.expr) -> bool:
        """True for a GPU by its name, 'cuda' or torch.device('cuda')."""
        if isinstance(value, ast.Call) and self._named(value.func) == "torch.device" and value.args:
            value = value.args[0]
        return isinstance(value, ast.Constant) and _matches(_DEVICE, value.value)


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _may_end(part: ast.AST) -> bool:
    """True for what may end the script, or change what its names stand for."""
    if isinstance(part, ast.NamedExpr):
        return True
    name = ""
    if isinstance(part, (ast.Name, ast.Attribute, ast.alias)):
        name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else part.name
    return name in _ENDS or (isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    """The calls of an expression that are made whatever their values are."""
    waiting: list[ast.AST] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call):
            yield part
        if isinstance(part, ast.BoolOp):
            waiting.append(part.values[0])
        elif isinstance(part, ast.IfExp):
            waiting.append(part.test)
        elif not isinstance(part, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare)):
            waiting.extend(ast.iter_child_nodes(part))
        elif isinstance(part, ast.Compare):
            waiting.append(part.left)
