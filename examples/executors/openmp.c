/* SPDX-License-Identifier: MIT */
/* Runs a layer on OpenMP threads. */
#include "inlay_openmp.h"

#include "check.h"

int main(void)
{
    omp_set_num_threads(4);
    inlay_executor executor = inlay_executor_openmp();
    return check("openmp", &executor);
}
