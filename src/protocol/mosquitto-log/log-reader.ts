import { dialectOf, type LogDialect } from './log-dialect.ts';
import type { LogLine } from './log-line.ts';
import { type IsKnown, readLine } from './read-line.ts';
import { UnreadLines } from './unread-lines.ts';

/** The topics of the log are below it. */
export const LOG_TOPIC = '$SYS/broker/log/';
export const VERSION_TOPIC = '$SYS/broker/version';

/** The timestamp may have an unusual format. */
const ABOUT_CLIENTS = /^(?:.{1,40}?: )?(?:New|Client|Bad socket) /;

/**
 * Reads the log of one Mosquitto in the wording of its version. Before the version is known, and with a version that is
 * not known, a line may have the wording of any version, and means only what it means in all of them. The same holds
 * after a line that the version does not write and another one does.
 */
export class LogReader {
  #version: string | null = null;
  #dialect: LogDialect | null = null;
  unread = new UnreadLines();

  /** Text of `$SYS/broker/version`; `null` before. */
  get version(): string | null {
    return this.#version;
  }

  set version(text: string) {
    if (text === this.#version) return;
    // Lines that arrive before the version are of this version.
    if (this.#version !== null) this.unread = new UnreadLines();
    this.#version = text;
    this.#dialect = dialectOf(text);
    if (this.#dialect === null && this.unread.count > 0) this.unread.hasClients = true;
  }

  /** The wording of the lines; `null` if it is not known. */
  get dialect(): LogDialect | null {
    return this.#dialect;
  }

  /** @param level the topic after LOG_TOPIC */
  read(level: string, payload: Uint8Array, isKnown: IsKnown): LogLine {
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString();
    const line = readLine(level, text, this.#dialect, isKnown);
    if (line.kind !== 'UNREAD') return line;
    if (this.#dialect !== null) {
      const other = readLine(level, text, null, isKnown);
      if (other.kind !== 'UNREAD') {
        this.#dialect = null;
        return other;
      }
    }
    const isVersionKnown = this.#version === null || dialectOf(this.#version) !== null;
    // A client chooses the first words of the lines about its subscriptions.
    this.unread.add(text, !isVersionKnown || (!level.startsWith('M/') && ABOUT_CLIENTS.test(text)));
    return line;
  }
}
