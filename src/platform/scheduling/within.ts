/** The result of `work`, or an error after `ms`. Does not stop the work; a late result is ignored. */
export async function within<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Resolves when all work has ended, well or not, or after `ms`. Never rejects. */
export async function settledWithin(ms: number, work: Iterable<Promise<unknown>>): Promise<void> {
  await within(ms, Promise.allSettled(work), () => new Error('too late')).catch(() => undefined);
}
