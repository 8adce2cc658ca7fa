import type { ReceivedMessage } from '../../../../src/data-plane/streams/query/stream-processor.ts';

/** A message as a stream receives it. */
export const received = (payload: Buffer | string, topic = 'plant/line1/temperature'): ReceivedMessage => ({
  payload: Buffer.from(payload),
  topic,
  qos: 1,
});
