# For test scripts: each case is one TAP line
: "${BUILD:?run these tests by make check}"
top=$(cd "$(dirname "$0")/../.." && pwd)
lib=$BUILD/lib/libtrefoil.so
count=0
export PETSC_OPTIONS="${PETSC_OPTIONS:-} -nox_warning"

# report STATUS NAME: one TAP line, with what $out holds if the case failed
report() {
  count=$((count + 1))
  if [ "$1" = 0 ]; then echo "ok $count - $2"; else
    echo "not ok $count - $2"
    head -n 12 "$out" 2> /dev/null | sed 's/^/# /'
  fi
}

# petsc_cc SOURCE PROGRAM [FLAGS]: compiles with PETSc's compiler and libraries; $first goes before its headers
petsc_cc() {
  cc_source=$1 cc_program=$2
  shift 2
  conf=$PETSC_DIR/${PETSC_ARCH:-.}/lib/petsc/conf/petscvariables
  variable() { sed -n "s/^$1 *= *//p" "$conf" | head -n 1; }
  mkdir -p "$(dirname "$cc_program")"
  eval "$CC -w -g -O1 ${first:-} -I$top/include $(variable PETSC_CC_INCLUDES) -o '$cc_program' '$cc_source' $* $(variable PETSC_WITH_EXTERNAL_LIB)"
}
