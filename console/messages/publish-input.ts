import type { VariablesOf } from '../graph/graphql.ts';
import type { PUBLISH } from './message-graph.ts';

type Input = VariablesOf<typeof PUBLISH>['input'];

export const PAYLOAD_KINDS = ['text', 'json', 'base64'] as const;

/** What the form has for the properties of MQTT 5. Empty texts are absent. */
export interface Properties {
  readonly contentType: string;
  readonly responseTopic: string;
  readonly correlationDataBase64: string;
  readonly messageExpirySeconds: string;
  readonly isPayloadUtf8: boolean;
  /** One property in each line: `name: value`. */
  readonly userProperties: string;
}

/** The payload for the graph, or why the text is not JSON. */
export function payloadInput(kind: string, text: string): Input['payload'] | { readonly problem: string } {
  if (kind === 'base64') return { base64: text.trim() };
  if (kind !== 'json') return { text };
  try {
    // Only checked: the value would be written with other numbers.
    JSON.parse(text);
    return { text };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** `null` if there is no property, so that brokers without MQTT 5 accept the message. */
export function propertiesInput(properties: Properties): NonNullable<Input['properties']> | null {
  const { contentType, responseTopic, correlationDataBase64, messageExpirySeconds, isPayloadUtf8 } = properties;
  const userProperties = properties.userProperties.split('\n').flatMap((line) => {
    const at = line.indexOf(':');
    return at < 1 ? [] : [{ name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() }];
  });
  const input = {
    ...(contentType !== '' && { contentType }),
    ...(responseTopic !== '' && { responseTopic }),
    ...(correlationDataBase64 !== '' && { correlationDataBase64 }),
    ...(messageExpirySeconds !== '' && { messageExpirySeconds: Number(messageExpirySeconds) }),
    ...(isPayloadUtf8 && { isPayloadUtf8 }),
    ...(userProperties.length > 0 && { userProperties }),
  };
  return Object.keys(input).length > 0 ? input : null;
}
