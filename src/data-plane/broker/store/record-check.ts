import { writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import { topicFilterProblem, topicNameProblem } from '../connecting/topic-rules.ts';
import type { Journal } from './journal.ts';
import { fromText } from './message-properties.ts';
import type { Quarantine, RecordKind } from './quarantine.ts';
import type { SqlValue } from './waiting-writes.ts';

interface MessageRow {
  readonly key: SqlValue;
  readonly topic: string;
  readonly qos: number;
  readonly properties: string | null;
}

const MESSAGES: readonly (readonly [RecordKind, string])[] = [
  ['will', 'SELECT client_id AS key, topic, qos, properties FROM will'],
  ['delayed will', 'SELECT client_id AS key, topic, qos, properties FROM delayed_will'],
  ['queued message', 'SELECT id AS key, topic, 1 AS qos, properties FROM message'],
];

/** Moves records that this broker cannot publish or restore into quarantine, before anything is loaded. */
export function checkRecords(journal: Journal, quarantine: Quarantine): void {
  for (const [kind, sql] of MESSAGES) {
    for (const row of journal.rows<MessageRow>(sql)) {
      const problem = messageProblem(row);
      if (problem !== null) quarantine.move(kind, [row.key], problem);
    }
  }
  type SubscriptionRow = { client_id: string; filter: string; options: string | null };
  for (const row of journal.rows<SubscriptionRow>('SELECT client_id, filter, options FROM subscription')) {
    const { client_id: clientId, filter, options } = row;
    const problem = named('its topic filter', topicFilterProblem(filter)) ?? jsonProblem(options);
    if (problem !== null) quarantine.move('subscription', [clientId, filter], problem);
  }
  type SessionRow = { client_id: string; about: string };
  for (const { client_id: clientId, about } of journal.rows<SessionRow>('SELECT client_id, about FROM session')) {
    const problem = jsonProblem(about);
    if (problem !== null) quarantine.move('session', [clientId], problem);
  }
}

function messageProblem({ topic, qos, properties }: MessageRow): string | null {
  if (![0, 1, 2].includes(qos)) return `there is no QoS ${qos}`;
  return named('its topic', topicNameProblem(topic)) ?? propertiesProblem(properties);
}

const named = (what: string, problem: string | null): string | null => problem && `${what} ${problem}`;

/** Properties that cannot be serialized would disconnect subscribers. */
function propertiesProblem(text: string | null): string | null {
  if (text === null) return null;
  try {
    writePublishProperties(fromText(text) ?? {});
    return null;
  } catch (error) {
    return `its properties cannot be sent: ${(error as Error).message}`;
  }
}

function jsonProblem(text: string | null): string | null {
  if (text === null) return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `it cannot be read: ${(error as Error).message}`;
  }
}
