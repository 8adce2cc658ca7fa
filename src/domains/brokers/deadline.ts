import { ServiceError } from '../../platform/errors.ts';

/** The result of `work`. Errors: BROKER_TIMEOUT after `timeoutMs`, which does not stop the work. */
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
