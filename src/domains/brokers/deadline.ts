import { ServiceError } from '../../platform/errors.ts';

/**
 * Returns the result of `work`, or fails with BROKER_TIMEOUT after `timeoutMs`. Does not stop the work; ignores a late
 * result.
 */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new ServiceError('BROKER_TIMEOUT', `${what}: the broker did not respond within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
