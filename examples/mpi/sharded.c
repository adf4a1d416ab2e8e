/* SPDX-License-Identifier: MIT */
/*
 * Shards a vocabulary that is too large for one machine over MPI ranks. Each rank has some rows of the table and embeds
 * the whole batch. The sum over all ranks is bit-identical to the unsharded layer: for each token, one rank has the row
 * and adds the position, the others write -0.0, and x + -0.0 is x in any order of summation.
 *
 *    mpicc -std=c99 sharded.c $(pkg-config --cflags --libs inlay) -o sharded
 *    mpirun --oversubscribe -np 4 ./sharded
 */
#include <inlay/inlay.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 50001, DIM = 96, SEQUENCES = 4, LENGTH = 32, ROWS = SEQUENCES * LENGTH };

/* Aborts all ranks, since the others would wait for this rank's part of the sum. */
static void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    fprintf(stderr, "%s\n", inlay_status_string(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Returns rows [first, first + rows) of the table: random rows that don't depend on the sharding. */
static float *read_rows(size_t first, size_t rows)
{
    float *table = malloc((rows > 0 ? rows : 1) * DIM * sizeof *table);
    if (table == NULL)
        require(INLAY_ERROR_NO_MEMORY);
    inlay_random_spec checkpoint = inlay_random_spec_default(INLAY_RANDOM_NORMAL, 1);
    checkpoint.first_row = first;
    require(inlay_table_random(&checkpoint, table, rows, DIM, DIM * sizeof *table));
    return table;
}

/* Computes the layer with these rows of the vocabulary. */
static void forward(const inlay_sinusoid *sinusoid, size_t first, size_t rows, const int32_t *ids, float (*out)[DIM])
{
    float *table = read_rows(first, rows);
    inlay_table shard = inlay_table_shard(inlay_table_f32(table, rows, DIM), first, VOCAB);
    inlay_layer_spec spec = inlay_layer_spec_default(&shard);
    spec.scale = inlay_sqrt_dim(DIM);
    spec.sinusoid = sinusoid;
    inlay_layer *layer = NULL;
    require(inlay_layer_create(&spec, NULL, &layer));
    inlay_batch batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, 0);
    require(inlay_forward(layer, &batch, out, sizeof out[0], NULL, NULL));
    inlay_layer_destroy(layer);
    free(table);
}

int main(int argc, char **argv)
{
    static float sum[ROWS][DIM], whole[ROWS][DIM];
    int32_t ids[ROWS];
    int rank = 0, ranks = 1, differ = 0, any = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < ROWS; i++)
        ids[i] = i * 6151 % VOCAB; /* every rank has the same batch */

    inlay_sinusoid *sinusoid = NULL;
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(DIM);
    require(inlay_sinusoid_create(&formula, NULL, &sinusoid));

    size_t first = (size_t)VOCAB * (size_t)rank / (size_t)ranks;
    size_t end = (size_t)VOCAB * (size_t)(rank + 1) / (size_t)ranks;
    forward(sinusoid, first, end - first, ids, sum);
    MPI_Allreduce(MPI_IN_PLACE, sum, ROWS * DIM, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);

    /* For comparison: the layer with the whole table. */
    forward(sinusoid, 0, VOCAB, ids, whole);
    differ = memcmp(sum, whole, sizeof whole) != 0;
    MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (rank == 0)
        printf("mpi, %d ranks: %s\n", ranks, any ? "NOT the bits of one layer" : "the same bits as one layer");

    inlay_sinusoid_destroy(sinusoid);
    MPI_Finalize();
    return any;
}
