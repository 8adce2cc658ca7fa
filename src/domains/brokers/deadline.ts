import { ServiceError } from '../../platform/errors.ts';

/** The answer of `work`, or BROKER_TIMEOUT after `timeoutMs`. The work itself is not stopped; its late answer is dropped. */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new ServiceError('BROKER_TIMEOUT', `${what}: the broker did not answer in ${timeoutMs} ms`));
    }, timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
