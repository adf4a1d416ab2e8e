#include "random.h"
void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p)
{
    (void)row;
    (void)columns;
    (void)first_element;
    (void)key;
    (void)offset;
    (void)p;
}
