# mpi: timelines by the ranks of MPI, where configure finds mpicc. Tests have it linked with each library that is there.
if MPI
bin_PROGRAMS += yore-mpi
dist_man_MANS += docs/yore-mpi.1
endif
EXTRA_DIST += docs/yore-mpi.1
yore_mpi_SOURCES = %D%/yore_mpi.c
yore_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
yore_mpi_LDADD = $(state_libs) $(MPI_LIBS)
if MPICH
check_PROGRAMS += tests/mpi/yore-mpi-mpich
endif
if OPENMPI
check_PROGRAMS += tests/mpi/yore-mpi-openmpi
endif
tests_mpi_yore_mpi_mpich_SOURCES = $(yore_mpi_SOURCES)
tests_mpi_yore_mpi_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
tests_mpi_yore_mpi_mpich_LDADD = $(state_libs) $(MPICH_LIBS)
tests_mpi_yore_mpi_openmpi_SOURCES = $(yore_mpi_SOURCES)
tests_mpi_yore_mpi_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
tests_mpi_yore_mpi_openmpi_LDADD = $(state_libs) $(OPENMPI_LIBS)
dist_check_SCRIPTS += tests/mpi/ranks.py
