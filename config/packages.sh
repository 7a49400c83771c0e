# Shell functions of config/bootstrap: the system's packages

say() { echo "trefoil: $*" >&2; }
die() { say "$@"; exit 1; }

packages="make gcc g++ python3 python3-pip openmpi-bin libopenmpi-dev libblas-dev liblapack-dev"
# what tests and the demo want beside: pictures, reading VTK files back, leak checks
packages_extra="python3-matplotlib python3-vtk9 valgrind clang-format patchelf xz-utils"

packages_missing() {
  for p in $packages $packages_extra; do
    dpkg-query -W -f='${Status}\n' "$p" 2> /dev/null | grep -q '^install ok' || echo "$p"
  done
}

# true if the programs that a build needs are there, whoever installed them
packages_programs() {
  absent=
  for p in make mpicc mpicxx mpiexec python3; do command -v $p > /dev/null 2>&1 || absent="$absent $p"; done
  [ -z "$absent" ]
}

packages_install() {
  if ! command -v apt-get > /dev/null 2>&1; then
    packages_programs || die "this system has no apt-get and lacks:$absent; install them, and BLAS and LAPACK, with its own package manager"
    return 0
  fi
  missing=$(packages_missing | tr '\n' ' ')
  [ -n "${missing% }" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    die "system packages are missing; as root, run:
  apt-get install -y $missing"
  fi
  say "installing $missing(about a minute)"
  export DEBIAN_FRONTEND=noninteractive
  log=$top/build/apt.log
  { apt-get update && apt-get install -y --no-install-recommends $missing; } > "$log" 2>&1 || { tail -n 5 "$log" >&2; die "apt-get failed, see $log"; }
}
