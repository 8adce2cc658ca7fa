import type { ErrorCode } from '../../platform/errors.ts';

/**
 * What the service and a thread that does work for it tell each other: `Order` is done without an answer, `Question` is answered, `News`
 * is what the thread tells unasked.
 */
export type ServiceMessage<Order, Question> =
  | { readonly type: 'order'; readonly order: Order }
  | { readonly type: 'ask'; readonly call: number; readonly question: Question }
  | { readonly type: 'end' };

export type ThreadMessage<News> =
  | { readonly type: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly call: number; readonly refusal: WireError }
  | { readonly type: 'news'; readonly news: News }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly fields: object; readonly text: string };

export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly info?: Readonly<Record<string, unknown>>;
}
