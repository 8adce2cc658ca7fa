import type { ServiceError } from '../../../platform/errors.ts';

export function subscribeRefusal(error: ServiceError, filter: string): string {
  if (error.code !== 'NOT_ALLOWED') return `The subscription to "${filter}" was refused: ${error.message}`;
  return `The broker does not allow to subscribe to "${filter}": grant subscribePattern and publishClientReceive on it`;
}

export function publishRefusal(error: ServiceError, topic: string): string {
  if (error.code !== 'NOT_ALLOWED') return `A message on "${topic}" was refused: ${error.message}`;
  return `The broker does not allow to publish on "${topic}": grant publishClientSend on it`;
}
