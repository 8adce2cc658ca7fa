import { GraphQLError } from 'graphql';
import { accepted, isJsonType } from '../http.ts';
import type { YogaPlugin } from './yoga-plugin.ts';

/** Refuses requests whose body or response would have another media type, before anything is executed. */
export const mediaTypes: YogaPlugin = {
  onRequestParse({ request: { method, headers } }) {
    if (method === 'POST' && !isJsonType(headers.get('content-type'), headers.get('content-encoding'))) {
      throw refusal(415, 'The body must be application/json in UTF-8');
    }
    const { type, events } = accepted(headers.get('accept'));
    if (type === null && events === 'NONE') {
      throw refusal(406, 'Accept must allow application/json or application/graphql-response+json');
    }
  },
};

/** Yoga reads the status from `http`. */
const refusal = (status: number, message: string) => new GraphQLError(message, { extensions: { http: { status } } });
