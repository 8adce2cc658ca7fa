import { ServiceError } from '../../platform/errors.ts';

/** What the reason code of a PUBACK or PUBREC means to the caller of publish. BROKER_TIMEOUT: it may well be taken later. */
export function publishRefusal(code: number): ServiceError {
  if (code === 0x87) return new ServiceError('NOT_ALLOWED', 'The broker does not let this user publish there');
  if (code === 0x97) return new ServiceError('BROKER_TIMEOUT', 'The broker has no quota left for this client');
  return new ServiceError('BROKER_REJECTED', `The broker refused the message (reason ${code})`);
}

/** What the reason code of a SUBACK means to the caller of subscribe. */
export function subscribeRefusal(error: Error): ServiceError {
  const granted =
    'packet' in error ? (error.packet as { granted?: readonly unknown[] } | undefined)?.granted : undefined;
  const code = granted?.[0];
  if (code === 0x87 || code === 0x80) {
    return new ServiceError('NOT_ALLOWED', 'The broker does not let this user subscribe there', { cause: error });
  }
  if (typeof code === 'number') {
    return new ServiceError('BROKER_REJECTED', `The broker refused the topic filter (reason ${code})`, {
      cause: error,
    });
  }
  return new ServiceError('BROKER_UNREACHABLE', 'The subscription could not be made', { cause: error });
}

/** What the reason code of an UNSUBACK means. */
export const unsubscribeRefusal = (code: number): ServiceError =>
  code === 0x87
    ? new ServiceError('NOT_ALLOWED', 'The broker does not let this user unsubscribe there')
    : new ServiceError('BROKER_REJECTED', `The broker refused to unsubscribe (reason ${code})`);
