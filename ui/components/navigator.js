element.firstElementChild.replaceChildren();
const go = () => {
  const to = props.value ? props.value.to : null;   // no value yet is an empty text
  if (typeof to !== "string" || !/^[a-z]*(\?[\w=&.%-]*)?$/i.test(to)) return;
  // Pages of an audience lie side by side under its mount: /practice/, /practice/talk, /zh/practice/talk …
  const mount = location.pathname.replace(/(\/practice|\/admin)(\/.*)?$/, "$1/");
  location.assign(mount + to);
};
go();
watch("value", go);
