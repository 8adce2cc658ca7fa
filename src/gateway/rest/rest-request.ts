import type { RequestFacts } from '../graphql/endpoint.ts';
import { addressOf, type RequestOrigin, targetOf } from '../http/fetch-handler.ts';
import { identify } from '../http/request-id.ts';
import { DEFAULT_REVISION, type Revision } from './revisions.ts';

/** One request, and what is known of it so far. */
export class RestRequest implements RequestFacts {
  readonly request: Request;
  readonly origin: RequestOrigin;
  readonly requestId: string;
  /** Path and query as they were sent. */
  readonly url: string;
  readonly headers: Record<string, string | undefined>;
  revision: Revision = DEFAULT_REVISION;
  /** Returns the methods that a 405 lists. */
  allow = () => '';
  /** Whether further pages of the response are read, for which the caller is checked again. */
  isContinued = false;

  constructor(request: Request, origin: RequestOrigin) {
    this.request = request;
    this.origin = origin;
    this.url = targetOf(request);
    this.headers = (origin.req?.headers as RestRequest['headers']) ?? Object.fromEntries(request.headers);
    this.requestId = identify(this);
  }

  get isHead(): boolean {
    return this.request.method === 'HEAD';
  }

  get address(): string {
    return addressOf(this.origin);
  }
}
