import { ID_PREFIXES, type IdKind, kindOfId } from '../../ids.ts';

export type AccessNodeKind = Extract<IdKind, `access${string}`>;

export interface AccessNodeName {
  readonly kind: AccessNodeKind;
  readonly brokerId: string;
  readonly name: string;
}

/**
 * The id of what a broker knows by a name: `<prefix>_<broker id>.<name as base64url>`. It lasts as long as the name does, so one
 * that is deleted and made again has the id that it had.
 */
export const accessNodeId = ({ kind, brokerId, name }: AccessNodeName): string =>
  `${ID_PREFIXES[kind]}_${brokerId}.${Buffer.from(name).toString('base64url')}`;

/** Null for what is no such id. Says nothing about existence. */
export function parseAccessNodeId(id: string): AccessNodeName | null {
  const kind = kindOfId(id);
  if (kind !== 'accessClient' && kind !== 'accessGroup' && kind !== 'accessRole') return null;
  const [brokerId = '', name, ...more] = id.slice(ID_PREFIXES[kind].length + 1).split('.');
  if (name === undefined || more.length > 0 || kindOfId(brokerId) !== 'broker') return null;
  return { kind, brokerId, name: Buffer.from(name, 'base64url').toString() };
}
