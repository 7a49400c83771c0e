# Shell functions of config/bootstrap: which PETSc, does it fit, build it

cache=${TREFOIL_CACHE:-$HOME/.cache/trefoil}
version=${TREFOIL_PETSC_VERSION:-$(cat "$top/config/petsc-version")}
oldest=3.24

macro() { sed -n "s/^ *#define *$2 *//p" "$1" 2> /dev/null | head -n 1; }

# petsc_check DIR ARCH: can Trefoil be built with it? If not, $reason says why
petsc_check() {
  conf=$1${2:+/$2}
  [ -d "$1" ] || { reason="PETSC_DIR=$1 is not a directory"; return 1; }
  [ -f "$1/include/petscversion.h" ] || { reason="PETSC_DIR=$1 holds no PETSc: include/petscversion.h is missing"; return 1; }
  v=$1/include/petscversion.h
  found=$(macro "$v" PETSC_VERSION_MAJOR).$(macro "$v" PETSC_VERSION_MINOR)
  older=$(printf '%s\n%s\n' "$oldest" "$found" | sort -t. -k1,1n -k2,2n | head -n 1)
  [ "$older" = "$oldest" ] || { reason="PETSC_DIR=$1 is PETSc $found, Trefoil needs $oldest or newer; unset PETSC_DIR to have one built"; return 1; }
  if [ ! -f "$conf/include/petscconf.h" ]; then
    archs=$(cd "$1" && for a in */include/petscconf.h; do [ -f "$a" ] && printf '%s ' "${a%%/*}"; done) || true
    reason="PETSC_ARCH=${2:-(not set)} is not a configured build of PETSC_DIR=$1; it has: ${archs:-none}"
    return 1
  fi
  grep -q '^#define PETSC_HAVE_SHARED_LIBRARIES\|^#define PETSC_USE_SHARED_LIBRARIES' "$conf/include/petscconf.h" || { reason="the PETSc in $conf has static libraries only; a plugin needs --with-shared-libraries"; return 1; }
  ls "$conf"/lib/libpetsc*.so > /dev/null 2>&1 || { reason="the PETSc in $conf is configured but not built: lib/libpetsc.so is missing; run make in $1"; return 1; }
  # MATMPIAIJ's structure is in a header of the source tree only, and so is the test harness
  { [ -f "$1/src/mat/impls/aij/mpi/mpiaij.h" ] && [ -f "$1/gmakefile.test" ]; } || { reason="the PETSc in $1 is installed without its source tree; Trefoil needs the tree it was built in (PETSC_DIR and PETSC_ARCH of the build)"; return 1; }
  ! grep -q '^#define PETSC_HAVE_MPIUNI' "$conf/include/petscconf.h" || { reason="the PETSc in $conf was built without MPI; Trefoil needs a real one"; return 1; }
}

petsc_write() {
  mk=$top/build/petsc.mk
  printf 'PETSC_DIR := %s\nPETSC_ARCH := %s\n' "$1" "$2" > "$mk.$$"
  if cmp -s "$mk.$$" "$mk"; then rm -f "$mk.$$"; else mv "$mk.$$" "$mk"; say "PETSc: $1${2:+, $2}"; fi
}

# What to configure: sets $arch (its name) and $options
petsc_options() {
  scalar=${TREFOIL_SCALAR:-real} precision=${TREFOIL_PRECISION:-double} int=${TREFOIL_INT:-32}
  arch=trefoil-$scalar-$precision-int$int
  options="--with-debugging=0 --with-fc=0 --with-x=0 --with-ssl=0 --with-scalar-type=$scalar --with-precision=$precision"
  if [ "$int" = 64 ]; then options="$options --with-64-bit-indices=1"; fi
  nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null) || nvcc=
  if [ "${TREFOIL_CUDA:-1}" = 1 ] && [ -n "$nvcc" ]; then
    sm=${TREFOIL_CUDA_ARCH:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | sed -n '1s/^\([0-9]*\)\.\([0-9]*\)$/\1\2/p')}
    sm=${sm:-90}
    cuda=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    arch=$arch-cuda$cuda-sm$sm
    options="$options --with-cuda=1 --with-cuda-dir=$(cd "$(dirname "$nvcc")/.." && pwd) --with-cuda-arch=$sm"
    # energy readings make libpetsc depend on the driver, so only where one is
    nvml=${TREFOIL_NVML:-$(ldconfig -p 2> /dev/null | grep -c 'libnvidia-ml\.so\.1')} || nvml=0
    if [ "$nvml" != 0 ]; then arch=$arch-nvml; fi
  else
    nvcc= nvml=0
    options="$options --with-cuda=0"
  fi
}

petsc_complete() { [ -f "$1/$2/trefoil-complete" ]; }

# One build at a time in the cache; waits for another's
petsc_lock() {
  mkdir -p "$cache" || die "cannot write to $cache; set TREFOIL_CACHE to a folder that can be written"
  lock=$cache/lock
  until mkdir "$lock" 2> /dev/null; do
    owner=$(cat "$lock/pid" 2> /dev/null) || owner=
    if [ -z "$owner" ] && [ -n "$(find "$lock" -prune -mmin +1 2> /dev/null)" ]; then rm -rf "$lock"; continue; fi
    if [ -n "$owner" ] && ! kill -0 "$owner" 2> /dev/null; then rm -rf "$lock"; continue; fi
    say "waiting for another build in $cache (process ${owner:-unknown}; remove $lock if there is none)"
    sleep 10
  done
  echo $$ > "$lock/pid"
  progress=
  trap 'rm -rf "$lock"; [ -z "$progress" ] || kill $progress 2> /dev/null || true' EXIT
  trap 'exit 1' INT TERM
}

petsc_source() {
  dist=$cache/dist archive=$cache/dist/petsc-$version.tar.gz
  if [ -f "$1/configure" ]; then return 0; fi
  mkdir -p "$dist"
  if [ ! -f "$archive" ]; then
    say "downloading PETSc $version (17 MB)"
    python3 -m pip download -q --no-deps --no-binary petsc -d "$dist" "petsc==$version" > "$dist/pip.log" 2>&1 || { tail -n 3 "$dist/pip.log" >&2; die "could not download PETSc $version from PyPI, see $dist/pip.log"; }
  fi
  rm -rf "$1.part"
  mkdir "$1.part"
  tar xzf "$archive" -C "$1.part" --strip-components=1
  mv "$1.part" "$1"
}

# nvml.h and something to link with, where the CUDA toolkit lacks them
petsc_nvml() {
  [ "$nvml" != 0 ] || return 0
  dir=$cache/nvml
  mkdir -p "$dir/include" "$dir/lib"
  if [ ! -f "$dir/include/nvml.h" ]; then
    python3 -m pip download -q --no-deps -d "$cache/dist" nvidia-nvml-dev > "$cache/dist/pip.log" 2>&1 || die "could not download nvml.h (nvidia-nvml-dev on PyPI), see $cache/dist/pip.log; TREFOIL_NVML=0 builds without it"
    python3 -c 'import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
open(sys.argv[2], "wb").write(z.read(next(n for n in z.namelist() if n.endswith("/nvml.h"))))' "$(ls "$cache"/dist/nvidia_nvml_dev*.whl | tail -n 1)" "$dir/include/nvml.h"
  fi
  # the functions that PETSc calls; at run time the driver's library has the same name
  for f in nvmlInit_v2 nvmlShutdown nvmlErrorString nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetFieldValues nvmlDeviceGetTotalEnergyConsumption; do
    echo "int $f(void) { return 1; }"
  done > "$dir/stub.c"
  gcc -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$dir/lib/libnvidia-ml.so" "$dir/stub.c"
  export CPATH="$dir/include${CPATH:+:$CPATH}" LIBRARY_PATH="$dir/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
  options="$options --with-cuda-nvml=1"
}

# petsc_progress LOG TOTAL: how far the compilation is, with an estimate of the rest
petsc_progress() {
  start=$(date +%s)
  while sleep 15; do
    done=$(grep -c '^ *\(CC\|CXX\|NVCC\|CUDAC\|CXXLD\) ' "$1" 2> /dev/null) || done=0
    [ "$done" -gt 0 ] || continue
    left=$((($(date +%s) - start) * ($2 - done) / done))
    [ "$left" -le 0 ] || say "compiling PETSc: $done of about $2 files, about $((left / 60 + 1)) min left"
  done
}

petsc_build() {
  petsc_source "$1"
  petsc_nvml
  jobs=$(nproc) memory=$(awk '/MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
  if [ "$memory" -lt "$jobs" ]; then jobs=$((memory > 0 ? memory : 1)); fi
  total=1250 minutes=12
  [ -n "$nvcc" ] || total=960 minutes=5
  say "building PETSc $version once, $2: about $minutes minutes on two cores"
  say "configuring (about 40 s)"
  cd "$1"
  ./configure PETSC_ARCH="$2" --COPTFLAGS='-g -O3' --CXXOPTFLAGS='-g -O3' --CUDAOPTFLAGS=-O3 --with-make-np="$jobs" $options > "$cache/$2-configure.log" 2>&1 || { tail -n 30 "$cache/$2-configure.log" >&2; die "PETSc's configure failed, see $1/configure.log"; }
  : > "$cache/$2-make.log"
  petsc_progress "$cache/$2-make.log" $total &
  progress=$!
  make PETSC_DIR="$1" PETSC_ARCH="$2" V= > "$cache/$2-make.log" 2>&1 || { tail -n 30 "$cache/$2-make.log" >&2; die "PETSc did not compile, see $cache/$2-make.log"; }
  kill $progress 2> /dev/null || true
  progress=
  date > "$1/$2/trefoil-complete"
  cd "$top"
}
