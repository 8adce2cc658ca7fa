import { type ComponentType, lazy } from 'react';
import { addressOf } from '../graph/addresses.ts';
import { pause } from '../graph/connectivity.ts';

const RETRY_MS = 2_000;

/** A component that is loaded when it is first shown. */
export const later = <Props>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async () => ({ default: await loaded(load) }));

/** Loads a part of the console. While the service cannot be reached, it is tried again. */
export async function loaded<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch {
    if (await isUpdated()) location.reload();
    await pause(RETRY_MS);
    return loaded(load);
  }
}

/** Whether the service has another version of the page, whose files have other names. */
async function isUpdated(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"]');
  const name = script?.src.split('/').at(-1);
  try {
    const response = await fetch(addressOf('.'), { cache: 'no-store' });
    return response.ok && name !== undefined && !(await response.text()).includes(name);
  } catch {
    return false;
  }
}
