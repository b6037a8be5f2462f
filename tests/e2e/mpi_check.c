/* An MPI program for the tests: collectives whose values are checked, and ways to end badly.
 * Usage: mpi_check [abort RANK CODE | die RANK | exit RANK | early RANK | stay]. Each rank prints "RANK SIZE NODE" if all was right. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kEach = 20000 };

static int check_sums(int rank, int size) {
  long mine = rank + 1, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all != (long)size * (size + 1) / 2;
}

static int check_exchange(int rank, int size) {
  int* out = malloc(sizeof(int) * (size_t)size);
  int* in = malloc(sizeof(int) * (size_t)size);
  int wrong = 0;
  for (int i = 0; i < size; ++i) out[i] = rank * 1000 + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) wrong += in[i] != i * 1000 + rank;
  free(out);
  free(in);
  return wrong;
}

static int check_gather(int rank, int size) {
  int* mine = malloc(sizeof(int) * kEach);
  int* all = malloc(sizeof(int) * kEach * (size_t)size);
  int wrong = 0;
  for (int i = 0; i < kEach; ++i) mine[i] = rank * kEach + i;
  MPI_Gather(mine, kEach, MPI_INT, all, kEach, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < kEach * size; ++i) wrong += all[i] != i;
  free(mine);
  free(all);
  return wrong;
}

static int check_halves(int rank, int size) {
  MPI_Comm half;
  int sum = 0, one = 1;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  MPI_Comm_free(&half);
  return sum != (size + 1 - rank % 2) / 2;
}

static void end_badly(int argc, char** argv, int rank) {
  if (argc < 2) return;
  if (!strcmp(argv[1], "stay")) {
    if (rank == 0) printf("here\n"), fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    pause();
  }
  if (argc > 2 && rank == atoi(argv[2])) {
    if (!strcmp(argv[1], "abort")) MPI_Abort(MPI_COMM_WORLD, atoi(argv[3]));
    if (!strcmp(argv[1], "die")) raise(SIGKILL);
    if (!strcmp(argv[1], "exit")) _exit(3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, length = 0;
  char node[MPI_MAX_PROCESSOR_NAME];
  if (argc > 2 && !strcmp(argv[1], "early") && !strcmp(getenv("PMIX_RANK"), argv[2])) _exit(7);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(node, &length);
  int wrong = check_sums(rank, size) + check_exchange(rank, size) + check_gather(rank, size) + check_halves(rank, size);
  end_badly(argc, argv, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (wrong == 0) printf("%d %d %s\n", rank, size, node);
  MPI_Finalize();
  return wrong != 0;
}
