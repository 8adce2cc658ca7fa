import type { NotificationContent } from '../notification-content.ts';

/** The result of one attempt. */
export interface Outcome {
  readonly isDelivered: boolean;
  /** HTTP status or SMTP reply code; `null` if there was no response. */
  readonly status: number | null;
  /** The beginning of the response. It comes from outside. */
  readonly response: string | null;
  /** Why the attempt failed. */
  readonly error: string | null;
  /** The pause that the receiver requested. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the receiver refuses this message, so that more attempts hardly help. */
  readonly isRefused?: boolean;
}

export interface Message {
  /** The same in each attempt. */
  readonly id: string;
  readonly content: NotificationContent;
}

/** Maximum duration of one attempt. */
export const ATTEMPT_MS = 15_000;
const MAX_RESPONSE = 1_000;
export const KEPT_BYTES = 4_000;

/** Without characters that a database or a terminal does not take. */
export const shownResponse = (text: string): string | null =>
  text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\n\t]/gu, ' ')
    .slice(0, MAX_RESPONSE)
    .trim() || null;

export const failed = (error: string, more: Partial<Outcome> = {}): Outcome => ({
  isDelivered: false,
  status: null,
  response: null,
  error: shownResponse(error),
  ...more,
});

export const delivered = (status: number | null, response: string): Outcome => ({
  isDelivered: true,
  status,
  response: shownResponse(response),
  error: null,
});
