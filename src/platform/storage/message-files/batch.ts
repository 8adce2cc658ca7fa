/** Limits of one transaction, so that a commit does not block the event loop for long. */
const BATCH_MESSAGES = 1_000;
const BATCH_BYTES = 512 * 1024;

/** Pause before a failed disk is retried, in milliseconds. */
export const RETRY_MS = 5_000;

/** Returns how many of the first messages one transaction writes: at least one, if there are any. */
export function batchLength<Message extends { readonly bytes: number }>(
  messages: readonly Message[],
  belongs: (message: Message) => boolean = () => true,
): number {
  let bytes = 0;
  let count = 0;
  for (const message of messages) {
    bytes += message.bytes;
    if (count > 0 && (bytes > BATCH_BYTES || count === BATCH_MESSAGES || !belongs(message))) break;
    count += 1;
  }
  return count;
}

export const diskFailure = (error: unknown): string => `The disk failed: ${reasonOf(error)}`;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
