import type { ServiceError } from '../../../platform/errors.ts';

export function subscribeRefusal(error: ServiceError, filter: string): string {
  if (error.code !== 'NOT_ALLOWED') return `The subscription to "${filter}" was refused: ${error.message}`;
  return `The broker does not allow to subscribe to "${filter}": the account of this service needs permission to subscribe and to receive there (subscribePattern and publishClientReceive in dynamic security)`;
}

export function publishRefusal(error: ServiceError, topic: string): string {
  if (error.code !== 'NOT_ALLOWED') return `A message on "${topic}" was refused: ${error.message}`;
  return `The broker does not allow to publish on "${topic}": the account of this service needs permission to publish there (publishClientSend in dynamic security)`;
}
