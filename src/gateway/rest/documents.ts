import type { OutgoingHttpHeader } from 'node:http';
import { DOCS_HEADERS, docsPage } from './docs-page.ts';
import { openApiOf } from './openapi.ts';
import type { Route } from './route.ts';

export interface ApiDocument {
  readonly path: string;
  readonly contentType: string;
  readonly body: () => Buffer;
  /** Alternating names and values. */
  readonly headers: readonly OutgoingHttpHeader[];
}

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

function once(create: () => string): () => Buffer {
  let created: Buffer | null = null;
  return () => {
    created ??= Buffer.from(create());
    return created;
  };
}
