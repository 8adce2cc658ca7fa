/** Options of an LRUCache that grows to this number of entries. `max` allocates 100,000 entries at once, in 20 ms. */
export const entryLimit = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
