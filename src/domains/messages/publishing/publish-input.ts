import { isUtf8 } from 'node:buffer';
import { type InputIssue, invalid } from '../../../platform/errors.ts';
import { type PublishProperties, writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import { levelProblem, stringProblem, topicProblem } from '../../../protocol/mqtt/topics.ts';

type Given<T> = T | null | undefined;

interface PropertiesInput {
  readonly contentType?: Given<string>;
  readonly responseTopic?: Given<string>;
  readonly correlationDataBase64?: Given<string>;
  readonly messageExpirySeconds?: Given<number>;
  readonly isPayloadUtf8?: Given<boolean>;
  readonly userProperties?: Given<readonly { readonly name: string; readonly value: string }[]>;
}

export interface PublishInput {
  readonly topic: string;
  readonly payload: { readonly text?: Given<string>; readonly json?: unknown; readonly base64?: Given<string> };
  readonly qos?: Given<number>;
  readonly retain?: Given<boolean>;
  readonly properties?: Given<PropertiesInput>;
  readonly dryRun?: Given<boolean>;
}

export interface PreparedMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Encoded. */
  readonly properties: Buffer | undefined;
}

export const MAX_USER_PROPERTIES = 100;

/** Topics with a `$` belong to the broker; below `$CONTROL` a message is a command, which needs other roles. */
const DOLLAR_ROOTS = new Map([
  ['$CONTROL', 'must not be below $CONTROL: use the mutations of access control, streams and the other APIs'],
  ['$SYS', 'must not be below $SYS: only the broker publishes there'],
  ['$share', 'must not begin with $share: shared subscriptions are no topics'],
  ['$queue', 'must not begin with $queue: shared subscriptions are no topics'],
]);

/** Errors: INVALID, with an issue for each field that is not valid. */
export function preparedMessage(input: PublishInput): PreparedMessage {
  const { topic, qos, retain, properties } = input;
  const issues: InputIssue[] = [];
  const check = (path: string, problem: string | null) => {
    if (problem !== null) issues.push({ path: `input.${path}`, reason: problem });
  };
  check('topic', publishTopicProblem(topic));
  const payload = payloadOf(input.payload, check);
  const level = qos ?? 1;
  check('qos', [0, 1, 2].includes(level) ? null : 'must be 0, 1 or 2');
  const encoded = properties == null ? null : checkedProperties(properties, payload, check);
  if (issues.length > 0) throw invalid(issues);
  return {
    topic,
    payload,
    qos: level as 0 | 1 | 2,
    retain: retain ?? false,
    properties: encoded === null ? undefined : writePublishProperties(encoded),
  };
}

function publishTopicProblem(topic: string): string | null {
  const problem = topicProblem(topic) ?? levelProblem(topic);
  if (problem !== null || !topic.startsWith('$')) return problem;
  return DOLLAR_ROOTS.get(topic.split('/', 1)[0] ?? '') ?? 'must not begin with $: such topics belong to the broker';
}

type Check = (path: string, problem: string | null) => void;

function payloadOf({ text, json, base64 }: PublishInput['payload'], check: Check): Buffer {
  if (text != null) return Buffer.from(text);
  if (base64 != null) {
    check('payload.base64', base64Problem(base64));
    return Buffer.from(base64, 'base64');
  }
  return Buffer.from(JSON.stringify(json ?? null));
}

const base64Problem = (text: string): string | null =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text) ? null : 'must be base64 with padding';

function checkedProperties(input: PropertiesInput, payload: Buffer, check: Check): PublishProperties {
  const { contentType, responseTopic, correlationDataBase64, messageExpirySeconds, isPayloadUtf8 } = input;
  const users = input.userProperties ?? [];
  const path = 'properties';
  if (contentType != null) check(`${path}.contentType`, stringProblem(contentType));
  if (responseTopic != null) check(`${path}.responseTopic`, topicProblem(responseTopic));
  if (correlationDataBase64 != null) {
    check(
      `${path}.correlationDataBase64`,
      base64Problem(correlationDataBase64) ?? lengthProblem(correlationDataBase64),
    );
  }
  if (messageExpirySeconds != null && (messageExpirySeconds < 0 || messageExpirySeconds > MAX_UINT32)) {
    check(`${path}.messageExpirySeconds`, `must be from 0 to ${MAX_UINT32}`);
  }
  if (isPayloadUtf8 === true && !isUtf8(payload))
    check(`${path}.isPayloadUtf8`, 'must be false: the payload is not UTF-8');
  if (users.length > MAX_USER_PROPERTIES) {
    check(`${path}.userProperties`, `must not have more than ${MAX_USER_PROPERTIES} entries`);
  }
  for (const [index, { name, value }] of users.slice(0, MAX_USER_PROPERTIES).entries()) {
    check(`${path}.userProperties.${index}.name`, stringProblem(name));
    check(`${path}.userProperties.${index}.value`, stringProblem(value));
  }
  return {
    contentType: contentType ?? undefined,
    responseTopic: responseTopic ?? undefined,
    correlationData: correlationDataBase64 == null ? undefined : Buffer.from(correlationDataBase64, 'base64'),
    messageExpiryInterval: messageExpirySeconds ?? undefined,
    payloadFormatIndicator: isPayloadUtf8 ?? undefined,
    userProperties: users.map(({ name, value }) => [name, value] as const),
  };
}

/** A Four Byte Integer of MQTT. */
const MAX_UINT32 = 4_294_967_295;

const lengthProblem = (base64: string): string | null =>
  Buffer.byteLength(base64, 'base64') > 65_535 ? 'must not exceed 65535 bytes' : null;
