import { createHash } from 'node:crypto';
import { Response } from '@whatwg-node/server';

const STYLE =
  ':root { color-scheme: light dark } body { font-family: system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }';

const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policyOf = (script: string): string =>
  `default-src 'none'; style-src ${digest(STYLE)}; script-src ${script === '' ? "'none'" : digest(script)}; frame-ancestors 'none'`;

export const PLAIN_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': policyOf(''),
} as const;

interface PlainPage {
  readonly title: string;
  readonly text: string;
  /** Default: none. */
  readonly script?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A page by itself, which loads nothing. Its texts must not contain input of the caller. */
export const plainPage = (status: number, { title, text, script = '', headers = {} }: PlainPage): Response =>
  new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style><body><h1>${title}</h1><p>${text}</p>${script && `<script>${script}</script>`}`,
    {
      status,
      headers: {
        ...PLAIN_HEADERS,
        'content-security-policy': policyOf(script),
        'content-type': 'text/html; charset=utf-8',
        ...headers,
      },
    },
  );
