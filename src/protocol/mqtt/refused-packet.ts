import { ServiceError } from '../../platform/errors.ts';

/** The error for a reason code of PUBACK or PUBREC. BROKER_TIMEOUT: the broker may accept the message later. */
export function publishRefusal(code: number): ServiceError {
  const info = { reasonCode: code };
  if (code === 0x87)
    return new ServiceError('NOT_ALLOWED', 'The broker does not allow this user to publish to the topic', { info });
  if (code === 0x97)
    return new ServiceError('BROKER_TIMEOUT', 'The broker has no quota left for this client', { info });
  return new ServiceError('BROKER_REJECTED', `The broker refused the message (reason code ${code})`, { info });
}

/** `undefined`: there was no SUBACK. */
export function subscribeRefusal(code: number | undefined, cause?: Error): ServiceError {
  if (code === undefined)
    return new ServiceError('BROKER_UNREACHABLE', 'The broker did not answer the subscription', { cause });
  if (code === 0x87 || code === 0x80) {
    return new ServiceError('NOT_ALLOWED', 'The broker does not allow this user to subscribe to the filter', { cause });
  }
  return new ServiceError('BROKER_REJECTED', `The broker refused the topic filter (reason code ${code})`, { cause });
}

export const unsubscribeRefusal = (code: number): ServiceError =>
  code === 0x87
    ? new ServiceError('NOT_ALLOWED', 'The broker does not allow this user to unsubscribe from the filter')
    : new ServiceError('BROKER_REJECTED', `The broker refused to unsubscribe (reason code ${code})`);
