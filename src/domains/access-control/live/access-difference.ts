import { isDeepStrictEqual } from 'node:util';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { ACCESS_PARTS, type AccessPart } from '../reading/access-parts.ts';

/** Names of accounts, groups and roles. */
type AccessNames = Readonly<Record<AccessPart, readonly string[]>>;

export interface AccessDifference {
  /** New and changed objects. A group changes also if it becomes the anonymous group or is no longer it. */
  readonly changed: AccessNames;
  readonly removed: AccessNames;
  readonly isDefaultAclChanged: boolean;
}

const NO_NAMES: AccessNames = { clients: [], groups: [], roles: [] };
export const NO_DIFFERENCE: AccessDifference = { changed: NO_NAMES, removed: NO_NAMES, isDefaultAclChanged: false };

/** Names in one event. */
const EVENT_NAMES = 500;
/** Objects that are compared between two yields. */
const STEP = 50;

export function* accessDifference(before: AccessPolicy, now: AccessPolicy): SlicedTask<AccessDifference> {
  if (before === now) return NO_DIFFERENCE;
  const changed = { clients: new Set<string>(), groups: new Set<string>(), roles: new Set<string>() };
  const removed: Record<AccessPart, string[]> = { clients: [], groups: [], roles: [] };
  for (const part of ACCESS_PARTS) {
    // A list that was not read again is the same object.
    if (before[part] === now[part]) continue;
    let compared = 0;
    for (const [name, object] of now[part]) {
      if (!isDeepStrictEqual(before[part].get(name), object)) changed[part].add(name);
      if (++compared % STEP === 0) yield;
    }
    for (const name of before[part].keys()) {
      if (!now[part].has(name)) removed[part].push(name);
      if (++compared % STEP === 0) yield;
    }
  }
  if (before.anonymousGroup !== now.anonymousGroup) {
    for (const name of [before.anonymousGroup, now.anonymousGroup]) {
      if (name !== null && now.groups.has(name)) changed.groups.add(name);
    }
  }
  return {
    changed: { clients: [...changed.clients], groups: [...changed.groups], roles: [...changed.roles] },
    removed,
    isDefaultAclChanged: !isDeepStrictEqual(before.defaultAcl, now.defaultAcl),
  };
}

/** Splits a difference into parts of at most EVENT_NAMES names. None if nothing differs. */
export function differenceParts({ changed, removed, isDefaultAclChanged }: AccessDifference): AccessDifference[] {
  const parts: AccessDifference[] = [];
  const rest = (list: 'changed' | 'removed', part: AccessPart, names: readonly string[]) => {
    for (let start = 0; start < names.length; start += EVENT_NAMES) {
      const piece = { ...NO_NAMES, [part]: names.slice(start, start + EVENT_NAMES) };
      parts.push({ ...NO_DIFFERENCE, [list]: piece });
    }
  };
  const count = weightOf({ changed, removed, isDefaultAclChanged });
  if (count === 0) return [];
  if (count <= EVENT_NAMES) return [{ changed, removed, isDefaultAclChanged }];
  // A changed object may refer to a new role or group, so roles come first.
  for (const part of ACCESS_PARTS.toReversed()) rest('changed', part, changed[part]);
  for (const part of ACCESS_PARTS) rest('removed', part, removed[part]);
  if (isDefaultAclChanged) parts.push({ ...NO_DIFFERENCE, isDefaultAclChanged });
  return parts;
}

export const weightOf = ({ changed, removed, isDefaultAclChanged }: AccessDifference): number =>
  ACCESS_PARTS.reduce(
    (count, part) => count + changed[part].length + removed[part].length,
    isDefaultAclChanged ? 1 : 0,
  );
