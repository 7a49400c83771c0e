# Trefoil: `make` builds libtrefoil.so, `make demo` shows it at work, `make check` tests it. See README.md.
# The first call of any of them finds or builds PETSc (config/bootstrap) and writes its place to build/petsc.mk.

.DEFAULT_GOAL := all

ifeq ($(wildcard build/petsc.mk),)
  # a first run: everything else waits for the bootstrap
  %: build/petsc.mk
	@$(MAKE) --no-print-directory $@
  .PHONY: all
  all: build/petsc.mk
	@$(MAKE) --no-print-directory all
else
include build/petsc.mk
include $(PETSC_DIR)/lib/petsc/conf/variables

BUILD := build/$(PETSC_ARCH)
OBJ   := $(BUILD)/obj
LIB   := $(BUILD)/lib/libtrefoil.so

SRC_C  := $(sort $(shell find src -name '*.c'))
SRC_CU := $(if $(CUDAC),$(sort $(shell find src -name '*.cu')))
OBJS   := $(SRC_C:%.c=$(OBJ)/%.o) $(SRC_CU:%.cu=$(OBJ)/%.cu.o)

WARN     := -Wall -Wextra -Werror -Wno-unused-parameter
INCLUDES := -Iinclude $(PETSC_CC_INCLUDES) $(MPI_INCLUDE)

all: $(LIB)

$(LIB): $(OBJS)
	@mkdir -p $(@D)
	$(CC) -shared -fPIC -o $@ $^ -Wl,-soname,libtrefoil.so $(PETSC_WITH_EXTERNAL_LIB)

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARN) $(CC_FLAGS) $(INCLUDES) -MMD -MP -c $< -o $@

$(OBJ)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(CUDAC) $(CUDAC_FLAGS) -Xcompiler "$(WARN) -Wno-pedantic" --expt-relaxed-constexpr -lineinfo -Iinclude $(PETSC_CC_INCLUDES) $(MPICXX_INCLUDES) -MMD -MP -c $< -o $@

-include $(OBJS:.o=.d)
endif

build/petsc.mk: config/bootstrap
	@config/bootstrap

.PHONY: all
