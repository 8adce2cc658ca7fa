import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { removeDurableFile } from '../../../platform/storage/message-files/durable-file.ts';
import type { SourceLog } from '../log-source.ts';
import { formerSegments } from './former-segments.ts';
import { LogFile } from './log-file.ts';

export const LOG_FILE = 'messages.sqlite';

/** The logs in the folder of a broker, also as an earlier version stored them. `close` must be called. */
export function logsIn(folder: string, onProblem: (name: string | null, reason: string) => void) {
  const path = join(folder, LOG_FILE);
  const file = existsSync(path) ? new LogFile(path) : null;
  const logs = (file?.logs() ?? []).flatMap(({ name, number, ttl, parts }): SourceLog[] => {
    if (file === null || name === null) return [];
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const messages = parts.reduce((sum, part) => sum + part.messages, 0);
    return [
      { name, ttl, bytes, messages, pages: (limit) => file.pages(number, limit), remove: () => file.remove(number) },
    ];
  });
  return {
    logs: [...formerSegments(folder, onProblem), ...logs],
    close: () => {
      const isEmpty = file?.logs().length === 0;
      file?.close();
      if (isEmpty) removeDurableFile(path);
    },
  };
}
