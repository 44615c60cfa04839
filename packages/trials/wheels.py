"""PyPI's wheels, by pip and uv, without a network."""

import platform

from make.facts import TARGETS

from . import older, place

UV = ["uv==0.13.8"]
# From the command to the first answer of a tool.
UVX_SECONDS = 20
NAME = "starlark-mcp-proxy"


def try_wheels(dist, version):
    machine = platform.machine()
    wheel = next(dist.glob(f"*{machine}*.whl"))
    with place.empty_home() as (home, environment):
        every_platform_takes_its_wheel(dist, home, environment)
    with place.empty_home() as (home, environment):
        programs = home / "venv/bin"
        place.run(["python3", "-m", "venv", home / "venv"], env=environment)
        an_older_version_is_replaced(wheel, programs, home, environment)
        place.answers([programs / NAME], environment, version)
        # The short name works through a link as well.
        (home / "bin").mkdir()
        for name in ["proxy", NAME]:
            (home / "bin" / name).symlink_to(programs / name)
        said = place.run([home / "bin/proxy", "--version"], env=environment).stdout
        place.check(said == f"proxy {version}\n", f"the version is `{said.strip()}`")
    uvx = place.installed("uv", UV) / "uvx"
    with place.empty_home() as (home, environment):
        command = [uvx, "--offline", "--from", wheel, NAME]
        place.answers_in_time("uvx", command, home, environment, UVX_SECONDS)
        place.answers(command, environment, version)


def every_platform_takes_its_wheel(dist, home, environment):
    """pip chooses by the tags: glibc since 2.17, and musl since 1.1, as on Alpine."""
    for machine in TARGETS:
        for library in ["manylinux_2_17", "manylinux2014", "musllinux_1_1"]:
            out = home / f"{library}_{machine}"
            chosen = ["--platform", f"{library}_{machine}", "--only-binary=:all:", "--no-deps"]
            offline = ["--no-index", "--find-links", dist]
            place.run(["python3", "-m", "pip", "download", *offline, *chosen, "--dest", out, NAME], env=environment)
            names = [file.name for file in out.iterdir()]
            place.check(len(names) == 1 and machine in names[0], f"pip takes {names}")


def an_older_version_is_replaced(wheel, programs, home, environment):
    old = older.python_wheel(TARGETS[platform.machine()], home)
    place.run([programs / "pip", "install", "--no-index", old], env=environment)
    said = place.run([programs / "proxy", "--version"], env=environment).stdout
    place.check(said == f"proxy {older.VERSION}\n", f"the older version is `{said.strip()}`")
    place.run([programs / "pip", "install", "--no-index", "--upgrade", wheel], env=environment)
