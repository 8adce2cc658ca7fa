import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { isDialogOpen, isTyping } from './ui/use-key.ts';

/** Screens after the key `g`. */
const PLACES: Readonly<Record<string, string>> = {
  h: '/',
  p: '/people',
  a: '/audit',
  n: '/notifications',
  e: '/explorer',
  u: '/account',
};
/** Between `g` and the next key, in milliseconds. */
const SEQUENCE_MS = 1_500;

/** Keys without modifiers that go to screens, rows and filters, unless a field has the focus or a dialog is open. */
export function useShortcuts(): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    let goAt = Number.NEGATIVE_INFINITY;
    const run = (key: string): boolean => {
      const place = performance.now() - goAt < SEQUENCE_MS ? PLACES[key] : undefined;
      goAt = key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY;
      if (place !== undefined) navigate(place);
      else if (key === '/') toFilter();
      else if (key === 'j' || key === 'k') toRow(key === 'j' ? 1 : -1);
      else if (key === '[' || key === ']') toTab(key === ']' ? 1 : -1);
      else return key === 'g';
      return true;
    };
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      if (ctrlKey || metaKey || altKey || isTyping(target) || isDialogOpen()) return;
      if (run(key)) event.preventDefault();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate]);
}

function toFilter(): void {
  const filter = document.querySelector<HTMLElement>('main input:is([type=search], :not([type])):not(.menu *)');
  (filter ?? document.querySelector<HTMLElement>('button.search'))?.focus();
}

function toRow(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('main tbody tr')].flatMap(
    (row) => row.querySelector<HTMLElement>('a, button') ?? [],
  );
  const row = document.activeElement?.closest('tr');
  const current = links.findIndex((link) => row?.contains(link));
  links[Math.max(0, Math.min(links.length - 1, current + step))]?.focus();
}

function toTab(step: number): void {
  const tabs = [...document.querySelectorAll<HTMLElement>('main > .tabs > a')];
  tabs[tabs.findIndex((tab) => tab.hasAttribute('aria-current')) + step]?.click();
}
