import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../control/envelope.ts';
import { type ControlCaller, ControlRefusal } from '../../control/plugin.ts';
import { pageOf, requiredText } from '../../control/plugin-arguments.ts';
import { topicProblem } from '../../mqtt/topics.ts';
import { INSPECT_API } from './inspect-control.ts';
import { parseSubscriberList } from './inspect-parser.ts';
import { MAX_SUBSCRIBERS, type SubscriberList } from './subscriber-list.ts';

/** `listSubscribers` of `cedalo/inspect`, an extension of the providers of this service. */
interface SubscriberRequest {
  readonly topic: string;
  readonly count: number;
}

/** Errors: as `ControlCaller`; INVALID, NOT_SUPPORTED_BY_BROKER. */
export async function listSubscribers(
  caller: ControlCaller,
  { topic, count }: SubscriberRequest,
): Promise<SubscriberList> {
  try {
    const list = parseSubscriberList(await caller.call(INSPECT_API, 'listSubscribers', { topic, count }));
    if (list !== undefined) return list;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_SUPPORTED_BY_BROKER') throw error;
    // The provider knows the command and says what is missing.
    if (error.info?.reason !== undefined) throw error;
  }
  throw notReported('The broker does not report which clients subscribe to a topic');
}

/** Errors: ControlRefusal. */
export function subscriberRequestOf(command: ControlCommand): SubscriberRequest {
  const topic = requiredText(command, 'topic');
  if (topicProblem(topic) !== null) throw new ControlRefusal('Invalid/missing topic');
  return { topic, count: Math.min(pageOf(command).count, MAX_SUBSCRIBERS) };
}

const notReported = (reason: string) =>
  new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: INSPECT_API, reason } });
