! MPIX_Win_cache_invalidate from Fortran: BINDING 1 is mpif.h, 2 the module mpi, 3 mpi_f08.
!
! Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
! SPDX-License-Identifier: BSD-3-Clause
program fortran_invalidate
#if BINDING == 3
  use mpi_f08
  use mpi_f08_ext
  implicit none
  type(MPI_Win) :: win
#else
#if BINDING == 2
  use mpi
  use mpi_ext
  implicit none
#else
  implicit none
  include 'mpif.h'
  include 'mpif-ext.h'
#endif
  integer :: win
#endif
  integer :: rank, ierror, round, got
  integer, asynchronous :: value(1)
  integer(kind=MPI_ADDRESS_KIND) :: bytes = 4, at = 0

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  value(1) = 100
  call MPI_Win_create(value, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_lock_all(0, win, ierror)
  do round = 0, 2
     if (rank == 1) then
        value(1) = 100 + round
        call MPI_Win_sync(win, ierror)
     end if
     call MPI_Barrier(MPI_COMM_WORLD, ierror)
     if (rank == 0) then
        if (round == 2) then
           call MPIX_Win_cache_invalidate(win, ierror)
           if (ierror /= MPI_SUCCESS) call fail('the call failed', ierror)
        end if
        call fetch(win, got)
        ! The second get has what the first one kept, the third one has not.
        if (round == 1 .and. got /= 100) call fail('not from the cache', got)
        if (round == 2 .and. got /= 102) call fail('from the cache', got)
     end if
     call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
#if BINDING == 3
  call MPIX_Win_cache_invalidate(win)
#endif
  call PMPIX_Win_cache_invalidate(win, ierror)
  call MPI_Win_unlock_all(win, ierror)
  call MPI_Win_free(win, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'right'

contains

  subroutine fetch(win, got)
#if BINDING == 3
    type(MPI_Win), intent(in) :: win
#else
    integer, intent(in) :: win
#endif
    integer, intent(out) :: got
    integer, asynchronous :: mine(1)

    mine(1) = -1
    call MPI_Get(mine, 1, MPI_INTEGER, 1, at, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_flush(1, win, ierror)
    got = mine(1)
  end subroutine fetch

  subroutine fail(what, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: number

    print '(a,i0,a,a,i0)', 'round ', round, ': ', what // ': ', number
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine fail
end program fortran_invalidate
