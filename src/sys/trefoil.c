#include "trefoilimpl.h"
#include <petscdm.h>

PetscErrorCode MatTakeVecTypeOfDM(Mat A)
{
  DM        dm;
  VecType   type;
  PetscBool standard;

  PetscFunctionBegin;
  PetscCall(MatGetDM(A, &dm));
  if (!dm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetVecType(dm, &type));
  PetscCall(PetscStrcmp(type, VECSTANDARD, &standard)); /* then -vec_type may have said another */
  if (type && !standard) PetscCall(MatSetVecType(A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool TrefoilInitializeCalled = PETSC_FALSE;

/* How many bits PetscInt has in the running library: what it writes where an all-ones 64-bit number was */
static PetscErrorCode TrefoilGetRunningIntBits(int *bits)
{
  union
  {
    PetscInt i;
    int64_t  all;
  } slot[4];

  PetscFunctionBegin;
  for (int s = 0; s < 4; s++) slot[s].all = -1;
  PetscCall(PetscGetVersionNumber(&slot[0].i, &slot[1].i, &slot[2].i, &slot[3].i));
  *bits = slot[0].all >= 0 && slot[0].all < 1000 ? 64 : 32; /* the upper half was written, too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stops with a message that names both sides when the running PETSc is not the one Trefoil was compiled for */
static PetscErrorCode TrefoilCheckPETSc(void)
{
  char          running[256];
  PetscDataType scalar, real;
  PetscBool     found;
  int           bits, major = 0, minor = 0;

  PetscFunctionBegin;
  PetscCall(PetscGetVersion(running, sizeof(running)));
  (void)sscanf(running, "%*[^0-9]%d.%d", &major, &minor);
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB, "libtrefoil was built for PETSc %d.%d but this program runs PETSc %d.%d; rebuild Trefoil with this program's PETSC_DIR and PETSC_ARCH", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscCall(TrefoilGetRunningIntBits(&bits));
  PetscCheck(bits == 8 * (int)sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB, "libtrefoil was built for PetscInt of %d bits but this program's PETSc uses %d; rebuild Trefoil with this program's PETSC_DIR and PETSC_ARCH", 8 * (int)sizeof(PetscInt), bits);
  /* these lookups are compiled inside libpetsc, so they tell what the running library was configured with */
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCheck(found && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_LIB, "libtrefoil was built for PetscScalar %s but this program's PETSc uses %s; rebuild Trefoil with this program's PETSC_DIR and PETSC_ARCH", PetscDataTypes[PETSC_SCALAR], PetscDataTypes[scalar]);
  PetscCall(PetscDataTypeFromString("real", &real, &found));
  PetscCheck(found && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_LIB, "libtrefoil was built for PetscReal %s but this program's PETSc uses %s; rebuild Trefoil with this program's PETSC_DIR and PETSC_ARCH", PetscDataTypes[PETSC_REAL], PetscDataTypes[real]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  TrefoilFinalize - Forgets the registration of the Trefoil types, so that `TrefoilInitialize()` works again after
  another `PetscInitialize()`

  Not Collective

  Level: developer

  Note:
  `PetscFinalize()` calls this, there is no need to.

.seealso: `TrefoilInitialize()`
@*/
PetscErrorCode TrefoilFinalize(void)
{
  PetscFunctionBegin;
  TrefoilInitializeCalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  TrefoilInitialized - Tells whether `TrefoilInitialize()` has been called

  Not Collective

  Output Parameter:
. flg - `PETSC_TRUE` once the types are registered

  Level: developer

.seealso: `TrefoilInitialize()`
@*/
PetscErrorCode TrefoilInitialized(PetscBool *flg)
{
  PetscFunctionBegin;
  PetscAssertPointer(flg, 1);
  *flg = TrefoilInitializeCalled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  TrefoilInitialize - Registers the Mat types `MATAIJHASHGPU`, `MATMACKO` and `MATSHELLFEM`, the PC type `PCFEMMG` and the KSP type `KSPIR` with PETSc

  Not Collective, but every process must call it

  Level: beginner

  Notes:
  Call it after `PetscInitialize()` in a program that links Trefoil. A program that does not link it loads the same
  registration with `-dll_append libtrefoil.so`, from the command line, `PETSC_OPTIONS` or a `.petscrc` file.

  Calling it repeatedly is harmless.

  An error names both sides if the running PETSc differs in version, scalar type, precision or integer size from the one
  Trefoil was compiled for.

.seealso: `MATAIJHASHGPU`, `MATMACKO`, `MATSHELLFEM`, `PCFEMMG`, `KSPIR`, `TrefoilFinalize()`
@*/
PetscErrorCode TrefoilInitialize(void)
{
  PetscFunctionBegin;
  if (TrefoilInitializeCalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TrefoilCheckPETSc());
  TrefoilInitializeCalled = PETSC_TRUE;
  PetscCall(PetscRegisterFinalize(TrefoilFinalize));
  PetscCall(MatInitializePackage_AIJHashGPU());
  PetscCall(MatInitializePackage_MACKO());
  PetscCall(MatInitializePackage_ShellFEM());
  PetscCall(PCInitializePackage_FEMMG());
  PetscCall(KSPInitializePackage_IR());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_trefoil(void);

/* What -dll_append calls; the name is fixed by the library's name, libtrefoil.so */
PetscErrorCode PetscDLLibraryRegister_trefoil(void)
{
  PetscFunctionBegin;
  PetscCall(TrefoilInitialize());
  PetscFunctionReturn(PETSC_SUCCESS);
}
