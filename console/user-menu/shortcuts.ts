import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { useViewer } from '../session/viewer.ts';

type Navigate = (address: string) => void;

interface Does {
  /** Default: nothing, because an element handles the key itself. */
  readonly run?: (key: string, navigate: Navigate) => void;
  readonly isForRootAdmin?: boolean;
}

/** `keys`: each does it; `g h` are two, one after the other. `meaning`: in the catalogue of the menu of the user. */
const shortcut = <Meaning extends string>(meaning: Meaning, keys: readonly string[], does: Does = {}) => ({
  meaning,
  keys,
  ...does,
});
const to = (address: string, isForRootAdmin = false): Does => ({
  run: (_key, navigate) => navigate(address),
  isForRootAdmin,
});
const pressed = (selector: string): Does => ({
  run: () => document.querySelector<HTMLElement>(selector)?.click(),
});

/** All keys of the console. */
const SHORTCUTS = [
  shortcut('keySearch', ['Ctrl K'], pressed('button.search')),
  shortcut('keyFilter', ['/'], { run: toFilter }),
  shortcut('fleet', ['g h'], to('/')),
  shortcut('people', ['g p'], to('/people', true)),
  shortcut('audit', ['g a'], to('/audit', true)),
  shortcut('notifications', ['g n'], to('/notifications', true)),
  shortcut('organizations', ['g o'], to('/organizations')),
  shortcut('service', ['g s'], to('/service', true)),
  shortcut('explorer', ['g e'], to('/explorer')),
  shortcut('ownAccount', ['g u'], to('/account')),
  shortcut('keyRows', ['j', 'k'], { run: (key) => toRow(key === 'j' ? 1 : -1) }),
  shortcut('keyTabs', ['[', ']'], { run: (key) => toTab(key === ']' ? 1 : -1) }),
  shortcut('keyKeys', ['?'], pressed('[aria-keyshortcuts="?"]')),
  shortcut('keyChoose', ['↑', '↓']),
  shortcut('keyOpen', ['Enter']),
  shortcut('keyClose', ['Esc']),
  shortcut('keyTab', ['Tab']),
];

/** The keys that the viewer has. */
export function useOfferedShortcuts() {
  const { isRootAdmin } = useViewer();
  return SHORTCUTS.filter(({ isForRootAdmin }) => isRootAdmin || !isForRootAdmin);
}

/** Between `g` and the next key, in milliseconds. */
const SEQUENCE_MS = 1_500;

/** Runs the keys, unless a dialog is open, or the key is a character of a field. */
export function useShortcuts(): void {
  const [, navigate] = useLocation();
  const offered = useOfferedShortcuts();
  useEffect(() => {
    let goAt = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      // The filling of forms by the browser sends events that have no key.
      if (!(event instanceof KeyboardEvent)) return;
      const { key, ctrlKey, metaKey, altKey, target } = event;
      // On some keyboards a bracket needs AltGr, which some systems report as Control and Alt.
      const isCharacter = event.getModifierState('AltGraph') || !(ctrlKey || metaKey || altKey);
      if (document.querySelector('dialog[open]') || (isCharacter ? isTyping(target) : altKey)) return;
      const after = performance.now() - goAt < SEQUENCE_MS ? 'g ' : '';
      const typed = isCharacter ? after + key : `Ctrl ${key.toUpperCase()}`;
      goAt = typed === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
      const run = offered.find(({ keys }) => keys.includes(typed))?.run;
      if (run || typed === 'g') event.preventDefault();
      run?.(key, navigate);
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate, offered.length]);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null;

function toFilter(): void {
  const filter = document.querySelector<HTMLElement>('main search input:not(.menu *)');
  if (filter) filter.focus();
  else document.querySelector<HTMLElement>('button.search')?.click();
}

/** A grid has a current row of its own. */
function toRow(step: number): void {
  const grid = document.querySelector<HTMLElement>('main [role=grid]');
  if (grid && document.activeElement === grid)
    grid.dispatchEvent(new KeyboardEvent('keydown', { key: step > 0 ? 'ArrowDown' : 'ArrowUp', bubbles: true }));
  else if (grid) grid.focus();
  if (grid) return;
  const links = [...document.querySelectorAll<HTMLElement>('main tbody tr')].flatMap(
    (row) => row.querySelector<HTMLElement>('a, button') ?? [],
  );
  const row = document.activeElement?.closest('tr');
  const current = links.findIndex((link) => row?.contains(link));
  links[Math.max(0, Math.min(links.length - 1, current + step))]?.focus();
}

/** To the tab, or if there are no tabs to the page of the first list. */
function toTab(step: number): void {
  const tabs = [...document.querySelectorAll<HTMLElement>('main > .tabs > a')];
  const [previous, next] = [...(document.querySelector('main .pager')?.querySelectorAll('button') ?? [])].slice(-2);
  const tab = tabs[tabs.findIndex((one) => one.hasAttribute('aria-current')) + step];
  (tabs.length > 0 ? tab : step > 0 ? next : previous)?.click();
}
