import type { OutgoingHttpHeader } from 'node:http';
import { DOCS_HEADERS, docsPage } from './docs-page.ts';
import { openApiOf } from './openapi.ts';
import type { Route } from './route.ts';

/** Something fixed that is served to everybody. */
export interface ApiDocument {
  readonly path: string;
  readonly contentType: string;
  /** Made when it is first asked for. */
  readonly body: () => Buffer;
  /** Names and values in turn. */
  readonly headers: readonly OutgoingHttpHeader[];
}

/** What describes the interface: for programs and for people. Both are public, and hold nothing but the route table. */
export function apiDocuments(routes: readonly Route[], options: { readonly version: string }): ApiDocument[] {
  return [
    {
      path: '/api/openapi.json',
      contentType: 'application/json; charset=utf-8',
      body: once(() => JSON.stringify(openApiOf(routes, options))),
      headers: [],
    },
    {
      path: '/api/docs',
      contentType: 'text/html; charset=utf-8',
      body: once(() => docsPage(routes, options)),
      headers: DOCS_HEADERS,
    },
  ];
}

function once(make: () => string): () => Buffer {
  let made: Buffer | null = null;
  return () => {
    made ??= Buffer.from(make());
    return made;
  };
}
