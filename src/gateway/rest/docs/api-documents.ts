import type { GraphQLSchema } from 'graphql';
import type { Build } from '../../../platform/build.ts';
import { openApiOf } from '../openapi.ts';
import type { Route } from '../route.ts';
import { DOCS_HEADERS, docsPage } from './docs-page.ts';

export interface ApiDocument {
  readonly path: string;
  readonly contentType: string;
  readonly body: () => Buffer<ArrayBuffer>;
  /** Further header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export const apiDocuments = (routes: readonly Route[], schema: GraphQLSchema, build: Build): readonly ApiDocument[] => [
  {
    path: '/api/openapi.json',
    contentType: 'application/json; charset=utf-8',
    body: once(() => JSON.stringify(openApiOf(routes, schema, build))),
    headers: {},
  },
  {
    path: '/api/docs',
    contentType: 'text/html; charset=utf-8',
    body: once(() => docsPage(routes, schema, build)),
    headers: DOCS_HEADERS,
  },
];

function once(create: () => string): () => Buffer<ArrayBuffer> {
  let created: Buffer<ArrayBuffer> | null = null;
  return () => {
    created ??= Buffer.from(create());
    return created;
  };
}
