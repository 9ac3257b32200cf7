import sys

wanted, expected = sys.argv[1], sys.argv[2]


def tell(status, name, detail):
    print("%s\t%s\t%s" % (status, name, " ".join(str(detail).split())))
    sys.stdout.flush()


def attempt(name, function):
    try:
        tell("ok", name, function())
    except Exception as error:
        tell("fail", name, "%s: %s" % (type(error).__name__, error))


def judge_version(name, version):
    base = str(version).split("+")[0]
    if base != wanted:
        tell("fail", name + " version", "%s, wanted is %s" % (version, wanted))
    else:
        tell("ok", name, "version %s imports" % version)


def judge_build(name, has_cuda, detail):
    if expected == "gpu" and not has_cuda:
        tell("fail", name + " build", "this is a CPU-only build")
    else:
        tell("ok", name + " build", detail)
