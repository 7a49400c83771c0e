# Trefoil: `make demo` shows it at work, `make check` tests it, `make help` lists the rest.
#
# The first call of any target finds or builds PETSc (config/bootstrap) and writes its place to build/petsc.mk; a set
# PETSC_DIR and PETSC_ARCH that fit are used as they are.

.DEFAULT_GOAL := all
GOALS := all demo check check-gpu bench install bundle checkformat programs

# Which PETSc: `make clean` and `make help` need none
ifneq ($(filter-out clean help format checkformat,$(or $(MAKECMDGOALS),all)),)
  # variables given to make as arguments do not reach $(shell) by themselves
  SETTINGS := $(foreach v,PETSC_DIR PETSC_ARCH $(filter TREFOIL_%,$(.VARIABLES)),$(if $(findstring command line,$(origin $(v))),$(v)='$($(v))'))
  BOOTSTRAP := $(shell $(SETTINGS) config/bootstrap 1>&2 || echo failed)
  ifneq ($(BOOTSTRAP),)
    $(error no PETSc to build with, see the message above)
  endif
  include build/petsc.mk
  include $(PETSC_DIR)/lib/petsc/conf/variables
endif

# Open MPI refuses root and more ranks than cores unless told; tests need both
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export OMPI_MCA_btl_vader_single_copy_mechanism := none
export PETSC_DIR PETSC_ARCH

BUILD  := build/$(or $(PETSC_ARCH),installed)
OBJ    := $(BUILD)/obj
LIB    := $(BUILD)/lib/libtrefoil.so
PREFIX ?= /usr/local

SRC_C  := $(sort $(shell find src -name '*.c'))
# a PETSc without CUDA names the compiler, too, if it found one
SRC_CU := $(if $(shell grep -s 'define PETSC_HAVE_CUDA 1' $(PETSC_DIR)/$(PETSC_ARCH)/include/petscconf.h),$(sort $(shell find src -name '*.cu')))
OBJS   := $(SRC_C:%.c=$(OBJ)/%.o) $(SRC_CU:%.cu=$(OBJ)/%.cu.o)
BENCH  := $(sort $(basename $(notdir $(shell grep -l 'int main' tests/bench/*.c 2>/dev/null))))

WARN     := -Wall -Wextra -Werror -Wno-unused-parameter
INCLUDES := -Iinclude $(PETSC_CC_INCLUDES) $(MPI_INCLUDE)
# CUDA's and PETSc's own headers are system headers: our warnings are about our code
CU_INCLUDES := -Iinclude $(patsubst -I%,-isystem %,$(PETSC_CC_INCLUDES) $(MPICXX_INCLUDES))
LINK     := -L$(BUILD)/lib -Wl,-rpath,$(abspath $(BUILD)/lib) -ltrefoil

all: $(LIB)

$(LIB): $(OBJS)
	@mkdir -p $(@D)
	@echo "    LINK $@"
	@$(CC) -shared -fPIC -o $@ $^ -Wl,-soname,libtrefoil.so $(PETSC_WITH_EXTERNAL_LIB)

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	@echo "      CC $<"
	@$(CC) -std=gnu11 $(WARN) $(CC_FLAGS) $(INCLUDES) -MMD -MP -c $< -o $@

$(OBJ)/%.cu.o: %.cu
	@mkdir -p $(@D)
	@echo "    NVCC $<"
	@$(CUDAC) $(CUDAC_FLAGS) -Xcompiler "$(WARN)" --expt-relaxed-constexpr -lineinfo $(CU_INCLUDES) -MMD -MP -c $< -o $@

-include $(OBJS:.o=.d)

# Benchmarks and the example that `make demo` runs
programs: $(BENCH:%=$(BUILD)/bench/%) $(BUILD)/examples/topopt

$(BUILD)/bench/%: tests/bench/%.c $(wildcard tests/bench/*.h) $(filter-out $(BENCH:%=tests/bench/%.c),$(wildcard tests/bench/*.c)) $(LIB)
	@mkdir -p $(@D)
	@echo "   BENCH $@"
	@$(CC) -std=gnu11 $(WARN) $(CC_FLAGS) $(INCLUDES) $< $(filter-out $(BENCH:%=tests/bench/%.c),$(wildcard tests/bench/*.c)) -o $@ $(LINK) $(PETSC_WITH_EXTERNAL_LIB)

$(BUILD)/examples/topopt: $(wildcard examples/tutorials/*.c examples/tutorials/*.h) $(LIB)
	@mkdir -p $(@D)
	@echo " EXAMPLE $@"
	@$(CC) -std=gnu11 $(WARN) $(CC_FLAGS) $(INCLUDES) $(filter %.c,$^) -o $@ $(LINK) $(PETSC_WITH_EXTERNAL_LIB)

demo: $(BUILD)/examples/topopt
	@BUILD=$(abspath $(BUILD)) MPIEXEC="$(MPIEXEC)" examples/tutorials/demo

check: $(LIB)
	@BUILD=$(abspath $(BUILD)) MPIEXEC="$(MPIEXEC)" CC="$(CC)" TESTS="$(TESTS)" config/check

# The same tests, and those that need a GPU; stops where there is none
check-gpu: $(LIB)
	@if [ -n "$(SANITIZE)" ]; then echo "make check-gpu SANITIZE=... works in the bundle: make bundle, then there" >&2; exit 1; fi
	@BUILD=$(abspath $(BUILD)) MPIEXEC="$(MPIEXEC)" CC="$(CC)" TESTS="$(TESTS)" TREFOIL_GPU=required config/check

bench: $(BENCH:%=$(BUILD)/bench/%)
	@BUILD=$(abspath $(BUILD)) MPIEXEC="$(MPIEXEC)" tests/bench/run $(SUBJECT)

install: $(LIB)
	@config/install $(LIB) $(PREFIX)

bundle: $(LIB) programs
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" config/bundle

format:
	@config/format -i

checkformat:
	@config/format --check

clean:
	rm -rf build

help:
	@sed -n '/^## /s/^## //p' config/help.txt

.PHONY: $(GOALS) clean help format
