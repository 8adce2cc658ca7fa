import { createRoot, type Root } from 'react-dom/client';
import { LANGUAGES, type LoadedLanguage, loadLanguage } from '../texts/languages.ts';
import { Language } from '../texts/texts.ts';
import { ELEMENTS, type ElementOf } from './elements.tsx';
import { Embedded } from './embedded.tsx';
import '../ui/controls.css';
import '../ui/state.css';
import '../ui/style.css';
import './style.css';

/** The service that has served this script. */
const OWN_SERVICE = new URL('.', import.meta.url).href;
const ENGLISH: LoadedLanguage = { tag: 'en', translations: {} };
const SHARED = ['service', 'token', 'lang', 'query'];

// The bundler puts the style sheets of all components here.
const sheet = new CSSStyleSheet();
sheet.replaceSync('$STYLE');

/** Defines an element, unless the page has loaded the script from another service already. */
function define(name: string, of: ElementOf): void {
  if (customElements.get(name)) return;
  customElements.define(
    name,
    class extends HTMLElement {
      static readonly observedAttributes = [
        ...SHARED,
        ...Object.keys(of.screens),
        ...Object.keys(of.query ?? {}),
        ...(of.others ?? []),
      ];
      #root: Root | null = null;
      #token: string | null = null;
      #language = ENGLISH;

      constructor() {
        super();
        this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet];
      }

      /** The attribute has it only if the page has set it there. */
      get token(): string | null {
        return this.#token ?? this.getAttribute('token');
      }

      set token(token: string | null) {
        this.#token = token;
        this.#render();
      }

      connectedCallback(): void {
        // Set before this script was loaded.
        const early = Object.getOwnPropertyDescriptor(this, 'token');
        if (early && Reflect.deleteProperty(this, 'token')) this.#token = early.value;
        if (this.shadowRoot) this.#root = createRoot(this.shadowRoot);
        this.#render();
      }

      disconnectedCallback(): void {
        this.#root?.unmount();
        this.#root = null;
      }

      attributeChangedCallback(): void {
        this.#render();
      }

      #render(): void {
        const wanted = this.closest('[lang]')?.getAttribute('lang')?.slice(0, 2) ?? '';
        const tag = Object.hasOwn(LANGUAGES, wanted) ? wanted : 'en';
        if (tag !== this.#language.tag) return void this.#speak(tag);
        this.#root?.render(
          <Language.Provider value={this.#language}>
            <Embedded
              of={of}
              attribute={(attribute) => this.getAttribute(attribute)}
              service={addressOf(this.getAttribute('service') ?? OWN_SERVICE)}
              token={this.token}
            />
          </Language.Provider>,
        );
      }

      /** An element whose texts cannot be loaded has the English ones. */
      async #speak(tag: string): Promise<void> {
        this.#language = await loadLanguage(tag).catch(() => ({ ...ENGLISH, tag }));
        this.#render();
      }
    },
  );
}

function addressOf(service: string): string | null {
  const wanted = `${service.replace(/\/$/, '')}/`;
  if (!URL.canParse(wanted, document.baseURI)) return null;
  const { protocol, username, password, search, hash, href } = new URL(wanted, document.baseURI);
  // Browsers connect to no other addresses, and paths are added at its end.
  const isUsable = /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === '';
  return isUsable ? href : null;
}

for (const [name, of] of Object.entries(ELEMENTS)) define(name, of);
