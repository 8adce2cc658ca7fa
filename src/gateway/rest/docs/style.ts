export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --get: light-dark(#1a7f37, #4ac26b); --post: light-dark(#0969da, #6cb6ff); --put: light-dark(#7d4e00, #daaa3f); --delete: light-dark(#cf222e, #ff8182) }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem }
@media (max-width: 30rem) { body { padding: .8rem } }
h1 { margin: 0 } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem } h3 { font-size: .9rem; margin: 1rem 0 .3rem }
input, select, textarea, button { font: inherit; max-width: 100%; padding: .4rem .6rem; border: 1px solid #888; border-radius: .4rem; background: Canvas; color: CanvasText }
input, select, textarea { width: 100% } textarea { font-family: ui-monospace, monospace; font-size: .85rem }
button { cursor: pointer; border-color: var(--c, #888); color: var(--c, CanvasText); font-weight: 600 }
:focus-visible { outline: 2px solid light-dark(#0969da, #6cb6ff); outline-offset: 1px }
label { display: block; font-size: .9rem; margin: .4rem 0 }
#search { position: sticky; top: .5rem; padding: .6rem .8rem }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: 0 .8rem }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0 }
summary { padding: .5rem .8rem; cursor: pointer; display: flex; gap: .2rem .7rem; align-items: baseline; flex-wrap: wrap }
details > div { padding: 0 .8rem .8rem }
.m { font: 600 .8rem/1.6 ui-monospace, monospace; min-width: 4.2rem; color: var(--c) }
.GET { --c: var(--get) } .POST { --c: var(--post) } .PUT { --c: var(--put) } .DELETE { --c: var(--delete) }
code, pre { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere }
pre { background: var(--soft); padding: .6rem .8rem; border-radius: .4rem; overflow: auto; max-height: 30rem; margin: .3rem 0; white-space: pre-wrap }
.s { opacity: .8; font-size: .9rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem } td, th { text-align: left; border-bottom: 1px solid var(--line); padding: .2rem .5rem .2rem 0; vertical-align: top; overflow-wrap: anywhere }
dialog { max-width: min(36rem, 100% - 2rem); border: 1px solid var(--line); border-radius: .5rem; background: Canvas; color: CanvasText }
[hidden] { display: none }`;
