echo "Run before_hook.sh ..."

if command -v trainyard >/dev/null; then
    trainyard version
else
    wget https://paddlerec.bj.bcebos.com/whl/PaddleRec.tar.gz
    tar -xf PaddleRec.tar.gz
    (cd PaddleRec && python setup.py install)
    python -m pip uninstall -y paddlepaddle
    python -m pip install paddlepaddle-gpu==1.7.2.post107
fi

echo "End before_hook.sh ..."
