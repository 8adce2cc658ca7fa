export type ValueOrPromise<T> = T | Promise<T>;

/** Calls `next` with a value, synchronously if it is not a promise. `fail` receives all errors. */
export function proceed<T>(value: ValueOrPromise<T>, next: (value: T) => void, fail: (error: unknown) => void): void {
  if (value instanceof Promise) {
    value.then(next).catch(fail);
    return;
  }
  try {
    next(value);
  } catch (error) {
    fail(error);
  }
}

/** Like `then`, but synchronous if the value is not a promise. */
export function after<T, Result>(
  value: ValueOrPromise<T>,
  next: (value: T) => ValueOrPromise<Result>,
): ValueOrPromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Calls `start`. `recover` receives its error, thrown or rejected. */
export function attempt<T>(
  start: () => ValueOrPromise<T>,
  recover: (error: unknown) => ValueOrPromise<T>,
): ValueOrPromise<T> {
  try {
    const value = start();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}
