/* SPDX-License-Identifier: MIT */
/* Runs a layer on a pthreadpool. */
#include "inlay_pthreadpool.h"

#include "check.h"

int main(void)
{
    pthreadpool_t pool = pthreadpool_create(4); /* 0: one per core */
    if (pool == NULL)
        require(INLAY_ERROR_NO_MEMORY);
    inlay_executor executor = inlay_executor_pthreadpool(pool);
    int differ = check("pthreadpool", &executor);
    pthreadpool_destroy(pool);
    return differ;
}
