# Shell functions of config/bootstrap: the system's packages

say() { echo "trefoil: $*" >&2; }
die() { say "$@"; exit 1; }

packages="make gcc g++ python3 python3-pip openmpi-bin libopenmpi-dev libblas-dev liblapack-dev"
# what tests and the demo want beside: pictures, reading VTK files back, leak checks
packages_extra="python3-matplotlib python3-vtk9 valgrind clang-format patchelf xz-utils"

packages_missing() {
  for p in "$@"; do
    dpkg-query -W -f='${Status}\n' "$p" 2> /dev/null | grep -q '^install ok' || echo "$p"
  done
}

# true if the programs that a build needs are there, whoever installed them
packages_programs() {
  absent=
  for p in make mpicc mpicxx mpiexec python3; do command -v $p > /dev/null 2>&1 || absent="$absent $p"; done
  [ -z "$absent" ]
}

apt_install() {
  say "installing $* (about a minute)"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } > "$top/build/apt.log" 2>&1
}

packages_install() {
  if ! command -v apt-get > /dev/null 2>&1; then
    packages_programs || die "this system has no apt-get and lacks:$absent; install them, and BLAS and LAPACK, with its own package manager"
    return 0
  fi
  missing=$(packages_missing $packages | tr '\n' ' ')
  [ -n "${missing% }" ] || return 0
  [ "$(id -u)" = 0 ] || die "system packages are missing; as root, run:
  apt-get install -y $missing$packages_extra"
  apt_install $missing || { tail -n 5 "$top/build/apt.log" >&2; die "apt-get failed, see $top/build/apt.log"; }
}

# Tried once in a checkout; without them some tests are skipped and the demo draws no picture
packages_install_extra() {
  [ ! -f "$top/build/extra-packages" ] && command -v apt-get > /dev/null 2>&1 || return 0
  missing=$(packages_missing $packages_extra | tr '\n' ' ')
  if [ -n "${missing% }" ]; then
    if [ "$(id -u)" = 0 ]; then
      apt_install $missing || say "could not install $missing(see build/apt.log): tests that need them will be skipped"
    else
      say "for pictures and all tests, as root, run: apt-get install -y $missing"
    fi
  fi
  touch "$top/build/extra-packages"
}
